/**
 * Functions of the server that run inside the message of a caller, after `set role none`: the login role of requests may
 * execute these and has no other privilege. They work as the owner of the schema, with a fixed `search_path`, and bound
 * what they accept, as text that an operator's function executes may reach them, too.
 */
export const gatewayFunctions = [
  /** Appends the changes that the write before it has left to the log of changes. */
  'basalt.append_changes(text, text, text, text, bool)',
  /** Keep one write with an `Idempotency-Key` from being made twice. */
  'basalt.reserve_idempotency_key(text, text, text)',
  'basalt.store_idempotency_result(text, text, text)',
  /** Read the object that a write has made, try a write, end a resumable upload. */
  'basalt.stored_object(text)',
  'basalt.stage_trial(text)',
  'basalt.end_trial()',
  'basalt.complete_resumable_upload(uuid, uuid)',
  /** Keep the rows that an import has received, and end it. */
  'basalt.create_import_staging()',
  'basalt.analyze_import_staging()',
  'basalt.succeed_import(uuid, text, bigint, bigint)',
] as const
