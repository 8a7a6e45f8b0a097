import type { PeerChannel } from './database/notifications/peers.ts'
import type { PortSharing } from './http/listen.ts'

/** Workers of this machine. */
export interface WorkerCount {
  /** Number of workers that serve requests. */
  readonly serving: number
  readonly total: number
  /** True while a reload starts other workers, which are not counted. */
  readonly isReloading: boolean
}

/** Machine with several workers, as one of them sees it. With a single process there is none. */
export interface Machine {
  /** Number of this worker, from 1. */
  readonly worker: number
  /** Number of workers that share the machine. */
  readonly total: number
  /** Ports that the workers share. */
  readonly ports: PortSharing
  /** Channel for the notifications of the database. */
  readonly peers: PeerChannel
  /** Returns the latest number of workers that the parent has reported. */
  countWorkers(): WorkerCount
  /** Collects the metrics of the other workers, in the Prometheus text format. A silent worker is left out. */
  collectMetrics(): Promise<readonly string[]>
}
