/**
 * The role that requests of callers log in as. It has no right but to become the role of a caller, and to execute the
 * steps of the server inside a caller's message. What text makes of the session's own role, by `set role none` or
 * `reset role` in a function with dynamic SQL, is this one (PostgreSQL, SET ROLE).
 */
export const gatewayRole = 'basalt_gateway'

/** The role of the administrators' data API, and of every request while auth is off: all rows, and no superuser. */
export const administratorRole = 'basalt_administrator'

/**
 * The role of statements that an administrator runs read-only. It sees all rows, and nothing of the schema `basalt`, where
 * password hashes and secrets are.
 */
export const readerRole = 'basalt_reader'
