"""How messages are sent: to web servers, to NATS, to MQTT brokers."""
