/**
 * Role that requests of callers log in as. It may only become the role of a caller, and execute the server's
 * steps inside a caller's message. Text that runs `set role none` or `reset role` in a function with dynamic
 * SQL gets this role (PostgreSQL, SET ROLE).
 */
export const gatewayRole = 'basalt_gateway'

/**
 * Role of the administrators' data API, and of every request while auth is off. It sees all rows and is no
 * superuser.
 */
export const administratorRole = 'basalt_administrator'

/**
 * Role of statements that an administrator runs read-only. It sees all rows, but nothing of the schema `basalt`
 * with its password hashes and secrets.
 */
export const readerRole = 'basalt_reader'

/**
 * Role of statements with which an administrator of the role `developer` writes. It sees and changes all rows of the
 * operator. It owns nothing, can create nothing and become no other role, and reaches nothing of the schema `basalt`.
 */
export const developerRole = 'basalt_developer'
