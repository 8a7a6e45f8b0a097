import { type Answered, choice, component, described, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const RowFault = component(
  'ImportRowFault',
  Type.Object({ row: Type.Integer({ description: 'Counted from 1.' }), message: Type.String() }),
)
/** Fault of a row. */
export type RowFault = Answered<typeof RowFault>

const errors = Type.Optional(
  Type.Array(RowFault, { description: 'The rows that were refused, the first 10,000 of them.' }),
)

export const ImportResult = component(
  'ImportResult',
  Type.Object({
    processed: Type.Integer(),
    inserted: Type.Integer(),
    updated: Type.Integer(),
    skipped: Type.Integer(),
    failed: Type.Integer(),
    errors,
    dryRun: Type.Optional(Type.Boolean()),
  }),
)
export type ImportResult = Answered<typeof ImportResult>

/** Import that is written after it was answered. */
export const ImportRun = component(
  'ImportRun',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    collection: Type.String(),
    state: choice(['running', 'succeeded', 'failed', 'canceled']),
    rowsRead: Type.Integer({ description: 'Of the file.' }),
    rowsWritten: Type.Integer({ description: 'So far; they are there when the state is `succeeded`.' }),
    failed: Type.Integer({ description: 'Rows that were refused so far.' }),
    startedAt: timestamp,
    finishedAt: nullable(timestamp),
    result: nullable(described('As the answer without the preference.', ImportResult)),
    error: nullable(Type.Object({ message: Type.String(), errors }, { additionalProperties: true }), {
      description: 'As the answer without the preference.',
    }),
  }),
)
export type ImportRun = Answered<typeof ImportRun>
