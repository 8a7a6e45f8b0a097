/**
 * Functions of the server that run inside a caller's message, after `set role none`. The login role of requests
 * may execute them and has no other privilege. They run as the owner of the schema, with a fixed `search_path`.
 * They limit their input, because text that an operator's function executes may call them, too.
 */
export const gatewayFunctions = [
  /** Appends the changes of the preceding write to the log of changes. */
  'basalt.append_changes(text, text, text, text, bool)',
  /** Keep a write with an `Idempotency-Key` from being made twice. */
  'basalt.reserve_idempotency_key(text, text, text)',
  'basalt.store_idempotency_result(text, text, text)',
  /** Read the object that a write has made, try a write, and end a resumable upload. */
  'basalt.stored_object(text)',
  'basalt.stage_trial(text)',
  'basalt.end_trial()',
  'basalt.complete_resumable_upload(uuid, uuid)',
  /** Store the rows that an import has received, and end the import. */
  'basalt.create_import_staging()',
  'basalt.analyze_import_staging()',
  'basalt.succeed_import(uuid, text, bigint, bigint)',
  /** Adds a job of a function. */
  'basalt.enqueue_sealed(text, text)',
  /** Adds a broadcast of a function. */
  'basalt.broadcast_sealed(text, text)',
  /** Keeps a message of another service from being handled twice. */
  'basalt.accept_inbound_sealed(text, text)',
  /** Finds an object of a function, and signs and ends addresses. */
  'basalt.storage_sealed(text, text)',
] as const
