import { Connection } from '../packages/server/src/database/connection/connection.ts'
import type { Call } from '../packages/server/src/database/connection/message.ts'
import { cases } from './cases.ts'
import { createPlanner } from './statements.ts'

/** Bare client of the same Postgres, with the statements of one case. */
export interface Floor {
  readonly connections: readonly Connection[]
  readonly messages: readonly (readonly Call[])[]
}

export async function openFloor(url: string, name: string, connections: number): Promise<Floor> {
  const benchCase = cases.find((candidate) => candidate.name === name)
  if (benchCase === undefined) throw new Error(`no case ${name}`)
  const target = {
    url,
    applicationName: 'bench',
    settings: {},
    prepare: true,
    connectTimeoutMs: 3000,
  }
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(target)))
  const plan = await createPlanner(open[0] as Connection)
  const messages: (readonly Call[])[] = []
  for (let n = 0; n < 1000; n += 1) messages.push(await plan(benchCase.request(n)))
  return { connections: open, messages }
}
