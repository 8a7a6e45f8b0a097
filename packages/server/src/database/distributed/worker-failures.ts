import pg from 'pg'

/** Source files of Citus that reject statements on distributed tables. PostgreSQL has no files of these names. */
const planningFiles =
  /^(?:citus_\w+|colocation_utils|deparse_shard_query|distributed_\w+|function_call_delegation|insert_select_\w+|local_executor|local_distributed_join_planner|merge_planner|metadata_cache|multi_\w+|adaptive_executor|query_\w+|recursive_planning|reference_table_utils|relation_access_tracking|transaction_management|repartition_\w+|subplan_execution|placement_connection|tuplestore)\.c$/

/** SQLSTATEs of such a report: feature not supported, or an internal error. */
const planningCodes = new Set(['0A000', 'XX000'])

/** Routine of an error that {@link withoutShards} has recognized as a worker's rejection of the statement. */
const workerRoutine = 'rejected by a worker'

/** Routine of an error that {@link withoutShards} has recognized as one of a function that lacks a relation there. */
const lackingRoutine = 'relation missing on a worker'

/**
 * Returns true if a function on a worker reads a relation of the coordinator. Citus carries the functions of policies
 * to the workers, but not the tables of these functions.
 */
export function isMissingOnWorker({ routine }: pg.DatabaseError): boolean {
  return routine === lackingRoutine
}

/** Returns true if Citus rejects the statement because of its form, not of its values or rows. */
export function isRejectedByCitus({
  code = '',
  file = '',
  routine,
  where,
  position,
  message,
}: pg.DatabaseError): boolean {
  if (routine === workerRoutine || (planningCodes.has(code) && planningFiles.test(file))) return true
  return where === undefined && position === undefined && rewrittenRecords.test(message)
}

/**
 * Messages of PostgreSQL about records. They appear on the coordinator in two cases. Citus has left out the columns of a
 * function while it rewrote the statement, or it reads a binary result of workers as text. Such a result begins with `PGCOPY`.
 */
const rewrittenRecords =
  /^(?:a column definition list is required for functions returning "record"|could not determine row type for result of \w+|invalid input syntax for type .+: "PGCOPY")$/

/**
 * SQLSTATEs of a statement that cannot be parsed or names a missing object. The coordinator has accepted the
 * statement, so Citus has rewritten it to one that the worker cannot run.
 */
const rewrittenCodes = /^(?:0A000|42601|42704|42703|42804|42883|42P01|42846)$/

/** Last line of CONTEXT of an error that Citus has received from a worker. */
const fromWorker = /(?:^|\n)while executing command on .*:\d+$/

/** Number of a shard after the name of its table, constraint or index, such as `note_pkey_102008`. */
const shardNumber = /(?<=\w)_\d{6,}(?=")/g
const shardNumberOfBareName = /^(permission denied for (?:table|sequence) .*?)_\d{6,}$/

/** SQLSTATE of a lost connection. Citus has it for most failures to reach a worker. */
export const connectionFailure = '08006'

/**
 * Messages of Citus and of libpq about a worker that ends during a statement or a commit. They have the code of an
 * internal error.
 */
const lostWorker = new RegExp(
  `^(?:${[
    'could not commit transaction for shard \\d+',
    'failure on connection marked as essential',
    "failed to prepare transaction '",
    'execution cannot recover from multiple connection failures',
    'cannot connect to \\S+ to fetch intermediate results',
    'failed to read result "[^"]*" from node ',
    'terminating connection ',
    'server closed the connection unexpectedly',
    'could not (?:receive data from|send data to) server',
    'connection not open',
    'no connection to the server',
    'SSL (?:SYSCALL error|connection has been closed unexpectedly)',
  ].join('|')})`,
)

/** Source files of Citus that report these messages. */
const connectionFiles =
  /^(?:adaptive_executor|intermediate_results|multi_copy|placement_connection|remote_commands|remote_transaction)\.c$/

function isOfLostWorker({ code, file = '', message }: pg.DatabaseError): boolean {
  return code === 'XX000' && connectionFiles.test(file) && lostWorker.test(message)
}

/**
 * Returns the failure of a worker as PostgreSQL itself would report it. Citus passes on the code and the texts,
 * which name shards, and neither the names of constraint and column nor the routine. The loss of a worker is the loss
 * of a connection. Returns any other error unchanged.
 */
export function withoutShards(error: pg.DatabaseError): pg.DatabaseError {
  const { where = '' } = error
  if (isOfLostWorker(error)) {
    const lost = new pg.DatabaseError(error.message, error.length, error.name as pg.DatabaseError['name'])
    return Object.assign(lost, { severity: error.severity, code: connectionFailure })
  }
  if (error.file !== 'remote_commands.c' || !fromWorker.test(where)) return withoutLocalShard(error)
  const message = stripShards(error.message)
  const rest = where.replace(fromWorker, '')
  return Object.assign(
    new pg.DatabaseError(message, message.length, error.name as pg.DatabaseError['name']),
    {
      severity: error.severity,
      code: error.code,
      detail: error.detail === undefined ? undefined : stripShards(error.detail),
      hint: error.hint,
      where: rest === '' ? undefined : rest,
      table: /\b(?:table|relation) "([^"]+)"/.exec(message)?.[1],
      constraint: /\bconstraint "([^"]+)"/.exec(message)?.[1],
      column: /^null value in column "([^"]+)"/.exec(message)?.[1],
      routine: routineOf(error, message, rest),
    },
  )
}

/**
 * Returns the failure of a constraint of a shard on the coordinator with the names of the table. Such a shard has a local
 * table with a foreign key to a reference table. The names of the table and of the constraint end with its number.
 */
function withoutLocalShard(error: pg.DatabaseError): pg.DatabaseError {
  const { table = '', constraint = '', message, detail } = error
  const [number] = /(?<=\w)_\d{6,}$/.exec(table) ?? []
  if (number === undefined || !constraint.endsWith(number)) return error
  const renamed = new pg.DatabaseError(
    stripShards(message),
    error.length,
    error.name as pg.DatabaseError['name'],
  )
  return Object.assign(renamed, error, {
    detail: detail === undefined ? undefined : stripShards(detail),
    table: table.slice(0, -number.length),
    constraint: constraint.slice(0, -number.length),
  })
}

/** Returns the routine that distinguishes errors of the same code. */
function routineOf({ code = '' }: pg.DatabaseError, message: string, where: string): string | undefined {
  if (where === '' && rewrittenCodes.test(code)) return workerRoutine
  // A statement that a function has made at run time may name anything.
  if (code === '42P01' && !/ at EXECUTE$/m.test(where)) return lackingRoutine
  if (message.startsWith('permission denied for ')) return 'aclcheck_error'
  return / at RAISE$/m.test(where.split('\n')[0] ?? '') ? 'exec_stmt_raise' : undefined
}

function stripShards(text: string): string {
  return text.replace(shardNumber, '').replace(shardNumberOfBareName, '$1')
}
