import type { TestApp } from './test-app.ts'

/** What the server logged as a fault of its own: the reason behind each 500. */
export function faultsOf(app: TestApp): string[] {
  return app.log
    .map((line) => JSON.parse(line) as { level: number; err?: { message?: string }; msg: string })
    .filter(({ level }) => level >= 50)
    .map(({ err, msg }) => `${msg}: ${err?.message}`)
}
