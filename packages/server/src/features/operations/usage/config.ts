import { flag, integer, table } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

const planLimit = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** Keys of `usage`, for limits of apps. */
export const usageConfig = Type.Object({
  plans: table(
    Type.Object(
      {
        api_requests: Type.Optional(planLimit),
        storage_bytes: Type.Optional(planLimit),
        bandwidth_bytes: Type.Optional(planLimit),
        function_invocations: Type.Optional(planLimit),
      },
      { additionalProperties: false },
    ),
    'Limits of apps in a calendar month (UTC), by the name of their plan. 0 or a missing limit means unlimited.',
    { expects: 'tables such as {free = {api_requests = 50000, bandwidth_bytes = 5368709120}}' },
  ),
  enforce: flag(
    false,
    "True if requests of an app beyond its plan's limits are rejected until the month ends.",
  ),
  retention_days: integer(400, 'Days for which usage is kept.', 32, 36_500),
})

export type UsageConfig = Static<typeof usageConfig>
