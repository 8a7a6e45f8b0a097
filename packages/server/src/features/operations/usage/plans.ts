import type { UsageConfig } from './config.ts'

/** Metrics that plans limit. */
export const limitedMetrics = [
  'api_requests',
  'storage_bytes',
  'bandwidth_bytes',
  'function_invocations',
] as const
export type LimitedMetric = (typeof limitedMetrics)[number]

/** Limits of a plan. 0 means unlimited. */
export type PlanLimits = Readonly<Record<LimitedMetric, number>>

export type Plans = UsageConfig['plans']

/** Returns the limits of a plan. A plan that the configuration does not name has none. */
export function limitsOf(plans: Plans, name: string): PlanLimits {
  const limits = Object.hasOwn(plans, name) ? plans[name] : undefined
  return {
    api_requests: limits?.api_requests ?? 0,
    storage_bytes: limits?.storage_bytes ?? 0,
    bandwidth_bytes: limits?.bandwidth_bytes ?? 0,
    function_invocations: limits?.function_invocations ?? 0,
  }
}

/**
 * Returns the storage limits of apps as JSON: bytes by the name of their plan. The result is empty when no
 * plan limits storage.
 */
export function storageLimits(plans: Plans): string {
  const limits = Object.keys(plans).flatMap((name) => {
    const { storage_bytes: bytes } = limitsOf(plans, name)
    return bytes > 0 ? [[name, bytes] as const] : []
  })
  return limits.length === 0 ? '' : JSON.stringify(Object.fromEntries(limits))
}

const defaultPlan = 'default'

export function isPlan(plans: Plans, name: string): boolean {
  return name === defaultPlan || Object.hasOwn(plans, name)
}
