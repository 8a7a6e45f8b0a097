import type { TestApp } from './test-app.ts'

/** Lists the internal errors that the server logged: the reasons of its 500 responses. */
export function faultsOf(app: TestApp): string[] {
  return app.log
    .map((line) => JSON.parse(line) as { level: number; err?: { message?: string }; msg: string })
    .filter(({ level }) => level >= 50)
    .map(({ err, msg }) => `${msg}: ${err?.message}`)
}
