import { type Answered, choice, component, described, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const RowFault = component(
  'ImportRowFault',
  Type.Object({ row: Type.Integer({ description: 'Row number, from 1.' }), message: Type.String() }),
)
/** Fault of a row. */
export type RowFault = Answered<typeof RowFault>

const errors = Type.Optional(
  Type.Array(RowFault, { description: 'The rejected rows, at most the first 10,000.' }),
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

/** Import that is written after the response. */
export const ImportRun = component(
  'ImportRun',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    collection: Type.String(),
    state: choice(['running', 'succeeded', 'failed', 'canceled']),
    rowsRead: Type.Integer({ description: 'Size of the file in bytes.' }),
    rowsWritten: Type.Integer({
      description: 'Rows written so far. They are visible when the state is `succeeded`.',
    }),
    failed: Type.Integer({ description: 'Rows rejected so far.' }),
    startedAt: timestamp,
    finishedAt: nullable(timestamp),
    result: nullable(described('Same object as in the response without the preference.', ImportResult)),
    error: nullable(Type.Object({ message: Type.String(), errors }, { additionalProperties: true }), {
      description: 'Result as in the response without the preference.',
    }),
  }),
)
export type ImportRun = Answered<typeof ImportRun>
