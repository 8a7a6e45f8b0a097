import type { RequestOptions, TestApp } from './test-app.ts'

/** Response of a GraphQL request: its status and the members of its body. */
export interface GraphqlResult {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly data?: any
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly string[]
    // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
    readonly extensions?: any
  }[]
}

/** Runs a GraphQL document by POST. */
export async function runGraphql(
  app: TestApp,
  query: string,
  { variables, operationName, ...options }: GraphqlOptions = {},
): Promise<GraphqlResult> {
  const body = { query, variables, operationName }
  const { status, json } = await app.request('POST', '/api/graphql', { ...options, body })
  return { status, ...json }
}

export interface GraphqlOptions extends Omit<RequestOptions, 'body'> {
  readonly variables?: object
  readonly operationName?: string
}
