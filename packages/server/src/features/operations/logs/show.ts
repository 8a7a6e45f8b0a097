import { nameLevel } from './entry.ts'
import type { LogRow, RequestRow } from './queries.ts'

/** Rows as clients see them. */

export function showEntry({ time, level, message, attrs, node, request_id }: LogRow) {
  return {
    time: time.toISOString(),
    level: nameLevel(level),
    message,
    attrs,
    node,
    requestId: request_id,
  }
}

export function showRequest(row: RequestRow) {
  return {
    id: row.id,
    timestamp: row.happened_at.toISOString(),
    method: row.method,
    path: row.path,
    operation: row.operation,
    status_code: row.status,
    duration_ms: Math.round(row.duration_ms * 1000) / 1000,
    user_id: row.user_id,
    api_key_id: row.api_key_id,
    app_id: row.app_id,
    request_size: row.request_size,
    response_size: row.response_size,
    ip_address: row.address,
    request_id: row.request_id,
    impersonated_by: row.impersonated_by,
    node: row.node,
  }
}
