import type { Config } from '../configuration.ts'
import type { PeerMessage } from '../database/notifications/peers.ts'
import type { SocketName } from '../http/listen.ts'
import type { WorkerCount } from '../machine.ts'
import type { StartReport } from '../start-report.ts'
import type { LimitMessage } from './connections.ts'

/**
 * Number of this protocol. A worker of another version is accepted only with the same one, so a change of these
 * messages that the other side would not understand increments it.
 */
export const protocol = 1

/** Message from the parent to a worker. */
export type ToWorker =
  /** Request to read the configuration and to return it by `configured`. */
  | { readonly kind: 'configure' }
  /** Socket to listen on; before `start`, with the handle. */
  | { readonly kind: 'socket'; readonly name: SocketName }
  | {
      readonly kind: 'start'
      readonly config: Config
      readonly worker: number
      /** Number of workers with this configuration. */
      readonly total: number
      readonly count: WorkerCount
      /** Ports that other workers have opened. */
      readonly ports: ReadonlyMap<SocketName, number>
      readonly reusePort: boolean
    }
  | { readonly kind: 'count'; readonly count: WorkerCount }
  /** Socket of another worker, which accepts no connections now; with the handle. */
  | { readonly kind: 'cover'; readonly worker: number; readonly name: SocketName }
  /** Sign that the other worker accepts connections again. */
  | { readonly kind: 'uncover'; readonly worker: number }
  /** Number of database connections that the worker may have from now on. */
  | ({ readonly kind: 'limitConnections' } & LimitMessage)
  /** Completes requests in flight, then ends the worker. */
  | { readonly kind: 'stop' }
  /** Leaves the sockets to other workers, then ends the worker like `stop`. */
  | { readonly kind: 'handOver' }
  /** Aborts requests in flight. */
  | { readonly kind: 'cutOff' }
  /** Request for the metrics of this worker. */
  | { readonly kind: 'render'; readonly id: number }
  | { readonly kind: 'collected'; readonly id: number; readonly texts: readonly string[] }
  /** Another leader, or a restarted one. */
  | { readonly kind: 'leader'; readonly isLeader: boolean }
  /** Message of another worker. */
  | { readonly kind: 'peer'; readonly message: PeerMessage }
  /** Line of the parent's log, for the database. */
  | { readonly kind: 'store'; readonly line: string }

/** Message from a worker to the parent. */
export type FromWorker =
  /** First message. */
  | { readonly kind: 'hello'; readonly protocol: number; readonly version: string }
  | { readonly kind: 'configured'; readonly config: Config }
  | { readonly kind: 'alive'; readonly isInspected: boolean }
  /** Socket that the worker has opened, with its handle. */
  | { readonly kind: 'socket'; readonly name: SocketName; readonly port: number }
  | { readonly kind: 'listening'; readonly report: StartReport }
  /** Mistake of the operator, or a database that is unavailable; the worker then ends. */
  | { readonly kind: 'refused'; readonly message: string; readonly exitCode: number }
  /** Number of database connections that the work of the worker could use. */
  | { readonly kind: 'wantConnections'; readonly wanted: number }
  /** Sign that the worker has no more connections than the limit of that version. */
  | { readonly kind: 'confirmConnections'; readonly version: number }
  /** Request for the metrics of the other workers. */
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'rendered'; readonly id: number; readonly text: string }
  /** Message to the other workers. */
  | { readonly kind: 'peer'; readonly message: PeerMessage }

/** Interval of the workers' signs of life, and of the parent's checks. */
export const aliveMs = 1000
