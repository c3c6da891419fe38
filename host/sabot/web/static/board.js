// The players' board: shows what comes, and goes on for ever, also if its table has another name now.

import { listen } from "./live.js";

listen(({ parts }) => {
  if (parts?.board) document.getElementById("board").innerHTML = parts.board;
}, () => {});
