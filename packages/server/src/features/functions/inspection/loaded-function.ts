import { type Answered, component, described, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { StackFrame } from '../runtime/index.ts'

/** Function that a node has loaded. Members other than the first three depend on the kind. */
export const LoadedFunction = component(
  'LoadedFunction',
  Type.Object({
    name: Type.String({ description: 'Name of the export, or of the file for a default export.' }),
    file: Type.String(),
    kind: Type.String({
      description: '`route`, `before`, `after`, `job`, `schedule` or `inbound`, for example.',
    }),
    method: Type.Optional(Type.String()),
    path: Type.Optional(Type.String({ description: 'Path of a route below `/api/functions`.' })),
    access: Type.Optional(
      Type.String({ description: 'Callers of a route: `anonymous`, `user` or `admin`.' }),
    ),
    table: Type.Optional(Type.String()),
    operations: Type.Optional(Type.Array(Type.String())),
    job: Type.Optional(Type.String({ description: 'Type of the job.' })),
    expression: Type.Optional(Type.String({ description: 'Cron expression of a schedule.' })),
    timezone: Type.Optional(Type.String()),
    inbound: Type.Optional(Type.String({ description: 'Name in the address of an inbound function.' })),
    as: Type.Optional(
      Type.String({ description: 'Identity of an inbound function: `anonymous` or `admin`.' }),
    ),
    admin: Type.Optional(Type.Boolean({ description: 'True if it may act as the administrator.' })),
    timeout: Type.Optional(Type.Number({ description: 'Time limit in seconds, if it has its own.' })),
    retries: Type.Optional(Type.Integer()),
    input: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the input, if it is one.' }),
    ),
  }),
)

export type LoadedFunction = Answered<typeof LoadedFunction>

/** Load of functions that has failed. The previous functions are served. */
export const LoadFailure = Type.Object({
  failedAt: timestamp,
  deploy: nullable(Type.String(), { description: 'Hash of the deploy. null for a folder of the machine.' }),
  reason: nullable(Type.String(), { description: 'null for the role `viewer`.' }),
  frames: Type.Array(StackFrame),
})

export const LoadedFunctions = Type.Object({
  source: Type.String({ description: '`deploy`, `folder` of the machine, or `none`.' }),
  deploy: nullable(Type.String(), { description: 'Hash of the deploy that is loaded.' }),
  isAvailable: Type.Boolean({ description: 'False while the process of the functions restarts.' }),
  failure: described('Newest load, if it has failed.', nullable(LoadFailure)),
  items: Type.Array(LoadedFunction),
  count: Type.Integer(),
})
