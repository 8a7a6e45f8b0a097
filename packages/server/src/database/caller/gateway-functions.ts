/**
 * Functions of the server that run inside the message of a caller, after `set role none`: the login role of requests may
 * execute these and has no other privilege. They work as the owner of the schema, with a fixed `search_path`, and bound
 * what they accept, as text that an operator's function executes may reach them, too.
 */
export const gatewayFunctions = [
  /** Appends the changes that the write before it has left to the log of changes. */
  'basalt.append_changes(text, text, text, text, bool)',
] as const
