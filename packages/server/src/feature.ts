import type { HttpServer } from './http/server.ts'

/** A part of Basalt, as the composition root sees it. */
export interface Feature {
  readonly name: string
  /** Adds its routes to the server. */
  readonly routes?: (app: HttpServer) => void
  /** Begins background work; called once, after everything is wired and before requests are accepted. */
  readonly start?: () => Promise<void> | void
  /** Ends what would otherwise never end, such as streams; called once, when the server is about to stop. */
  readonly drain?: () => void
  /** Ends background work; called once, after the last request was answered. */
  readonly stop?: () => Promise<void> | void
}
