"""The engines a bake-off runs on: broker, session, and the embedded Valkey, Postgres and fleet."""
