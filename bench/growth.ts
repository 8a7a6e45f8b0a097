import { parseArgs } from 'node:util'
import type { GrowthSection } from './growth/section.ts'

/**
 * Prints the cost of requests at several table sizes, one section at a time:
 * `node bench/growth.ts <section> [--rows 10000,1000000] [--rounds 3] [--only name]`.
 */
const sections: Readonly<Record<string, () => Promise<GrowthSection>>> = {
  tables: async () => (await import('./growth/tables.ts')).measureTables,
  files: async () => (await import('./growth/files.ts')).measureFiles,
  plans: async () => (await import('./growth/plans.ts')).plans,
  connections: async () => (await import('./growth/connections.ts')).measureConnections,
  streams: async () => (await import('./growth/streams.ts')).measureStreams,
  system: async () => (await import('./growth/system.ts')).measureSystem,
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '10000,1000000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
})
const load = sections[positionals[0] ?? '']
if (load === undefined) {
  throw new Error(`expected one section: ${Object.keys(sections).join(', ')}`)
}
const run = await load()
await run({ sizes: options.rows.split(',').map(Number), rounds: Number(options.rounds), only: options.only })
