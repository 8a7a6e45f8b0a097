import type { HttpServer } from './http/server.ts'

/** Feature of Basalt, as the composition root sees it. */
export interface Feature {
  readonly name: string
  /** Adds its routes to the server. */
  readonly routes?: (app: HttpServer) => void
  /** Starts background work. It is called once, after everything is wired and before requests are accepted. */
  readonly start?: () => Promise<void> | void
  /** Ends endless work, such as streams. It is called once, when the server is about to stop. */
  readonly drain?: () => void
  /** Ends background work. It is called once, after the last request. */
  readonly stop?: () => Promise<void> | void
}
