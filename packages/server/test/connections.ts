import { Connection } from '../src/database/connection/connection.ts'
import { type Call, statement } from '../src/database/connection/message.ts'
import type { TestDatabase } from './test-app.ts'

export interface ConnectOptions {
  readonly prepare?: boolean
  readonly user?: string
}

/** Opens a connection as the pools do. */
export function connectTo(
  { url }: Pick<TestDatabase, 'url'>,
  { prepare = true, user }: ConnectOptions = {},
): Promise<Connection> {
  const target = new URL(url)
  if (user !== undefined) target.username = user
  return Connection.open({
    url: target.href,
    applicationName: 'unit test',
    settings: {},
    prepare,
    connectTimeoutMs: 3000,
  })
}

/** Makes a statement with its values. */
export function call(text: string, ...values: (string | null)[]): Call {
  return { statement: statement(text), values }
}
