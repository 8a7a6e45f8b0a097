import { describe, expect, test } from 'vitest'
import { StatementFailed } from '../connection/message.ts'
import { translateDatabaseFailure } from '../errors/error-translation.ts'
import { isWorthAnotherAttempt } from '../errors/retry.ts'
import { databaseError } from '../tests/recording.ts'
import { withoutShards } from './worker-failures.ts'

const fromWorker = {
  file: 'remote_commands.c',
  routine: 'ReportResultError',
  where: 'while executing command on 10.0.0.7:5432',
}

/** Returns the response to a client for a failure of a worker. */
function answerTo(code: string, message: string, details: object = {}) {
  const error = withoutShards(databaseError(code, { message, ...fromWorker, ...details }))
  const answer = translateDatabaseFailure(error)
  return { status: answer?.status, message: answer?.message, data: answer?.extras.data }
}

describe('failures of workers', () => {
  test('name the constraint of the table, not that of a shard', () => {
    expect(
      answerTo('23505', 'duplicate key value violates unique constraint "note_pkey_102008"', {
        detail: 'Key (org_id, id)=(1, 2) already exists.',
      }),
    ).toEqual({
      status: 409,
      message: 'unique constraint violation',
      data: { note_pkey: { code: 'unique_violation', message: 'Key (org_id, id)=(1, 2) already exists.' } },
    })
  })

  test('name the missing column', () => {
    const message = 'null value in column "title" of relation "note_102008" violates not-null constraint'
    expect(answerTo('23502', message)).toEqual({
      status: 400,
      message: 'missing required value',
      data: {
        title: {
          code: 'not_null_violation',
          message: 'null value in column "title" of relation "note" violates not-null constraint',
        },
      },
    })
  })

  test('are denials where a policy rejects the row', () => {
    const message = 'new row violates row-level security policy for table "note_102008"'
    expect(answerTo('42501', message)).toEqual({
      status: 403,
      message: 'insufficient permissions',
      data: undefined,
    })
  })

  test.each([
    ['42601', 'a column definition list is required for functions returning "record"'],
    ['42883', 'function public.rank(integer) does not exist'],
    ['42P01', 'relation "public.member_102011" does not exist'],
  ])('are refusals of the statement for SQLSTATE %s, which the coordinator has accepted', (code, message) => {
    expect(answerTo(code, message)).toMatchObject({
      status: 400,
      message: `not supported on a distributed table: ${message.replace('_102011', '')}`,
    })
  })

  test('are refusals where Citus cannot plan the statement', () => {
    const error = databaseError('0A000', {
      message: 'could not run distributed query with GROUPING SETS, CUBE, or ROLLUP',
      file: 'multi_logical_planner.c',
      routine: 'RaiseDeferredErrorInternal',
    })
    expect(translateDatabaseFailure(error)?.message).toBe(
      'not supported on a distributed table: could not run distributed query with GROUPING SETS, CUBE, or ROLLUP',
    )
  })

  test.each([
    ['42601', 'a column definition list is required for functions returning "record"'],
    ['0A000', 'could not determine row type for result of json_to_record'],
  ])('are refusals where Citus has lost the columns of a function, SQLSTATE %s', (code, message) => {
    expect(translateDatabaseFailure(databaseError(code, { message }))).toMatchObject({
      status: 400,
      message: `not supported on a distributed table: ${message}`,
    })
  })

  test.each([
    ['placement_connection.c', 'could not commit transaction for shard 102008 on at least one active node'],
    ['multi_copy.c', 'terminating connection due to unexpected postmaster exit'],
    ['remote_transaction.c', 'failure on connection marked as essential: 10.0.0.7:5432'],
    ['remote_transaction.c', "failed to prepare transaction 'citus_0_1_2_3' on host 10.0.0.7:5432"],
    [
      'adaptive_executor.c',
      'execution cannot recover from multiple connection failures. Last node failed 10.0.0.7:5432',
    ],
    [
      'remote_commands.c',
      'server closed the connection unexpectedly\n\tThis probably means the server terminated',
    ],
  ])('are an unavailable database where a worker ends, by the report of %s: %s', (file, message) => {
    const error = withoutShards(databaseError('XX000', { message, file, routine: 'any' }))
    const answer = translateDatabaseFailure(error)
    expect([answer?.status, answer?.message, answer?.extras.headers]).toEqual([
      503,
      'the database is unavailable',
      { 'retry-after': '1' },
    ])
    const failed = new StatementFailed(error, 0)
    expect(isWorthAnotherAttempt(failed, 1, { isRead: true })).toBe(true)
    expect(isWorthAnotherAttempt(failed, 1, { isRead: false })).toBe(false)
  })

  test('keep the context of a function on the worker, without the address', () => {
    const error = withoutShards(
      databaseError('22012', {
        message: 'division by zero',
        ...fromWorker,
        where: `PL/pgSQL function half(integer) line 3 at RETURN\n${fromWorker.where}`,
      }),
    )
    expect(error.where).toBe('PL/pgSQL function half(integer) line 3 at RETURN')
  })

  test('name a function that reads a table of the coordinator', () => {
    const answer = answerTo('42P01', 'relation "public.member" does not exist', {
      where: `SQL function "is_member" during inlining\n${fromWorker.where}`,
    })
    expect(answer).toEqual({
      status: 500,
      message: 'a function on the workers of "is_member" reads a table that is only on the coordinator',
      data: { sqlState: '42P01', relation: 'is_member' },
    })
  })

  test.each([
    { constraint: 'note_2025_102008', where: 'SQL function "f"' },
    { constraint: 'log_202601_key', table: 'log_202601' },
    { column: 'title', table: 'log_202601' },
  ])('are unchanged where the coordinator itself reports them: %j', (details) => {
    const error = databaseError('23505', details)
    expect(withoutShards(error)).toBe(error)
  })

  test('name the table and its constraint where the shard is on the coordinator', () => {
    const error = databaseError('23503', {
      message:
        'insert or update on table "note_102015" violates foreign key constraint "note_org_id_fkey_102015"',
      detail: 'Key (org_id)=(7) is not present in table "org_102014".',
      constraint: 'note_org_id_fkey_102015',
      table: 'note_102015',
    })
    expect(withoutShards(error)).toMatchObject({ code: '23503', table: 'note' })
    expect(translateDatabaseFailure(withoutShards(error))?.extras.data).toEqual({
      note_org_id_fkey: {
        code: 'foreign_key_violation',
        message: 'Key (org_id)=(7) is not present in table "org".',
      },
    })
  })
})
