// The hub of all pages of this browser: a shared worker, which lives as long as one of them.

import { Hub } from "./hub.js";

const hub = new Hub();
self.onconnect = ({ ports: [port] }) => hub.join(port);
