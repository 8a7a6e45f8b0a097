import type { FunctionDescription, StorageMessage, ToChild } from '../messages.ts'

/** Messages as the child receives and sends them. The server checks those that it receives (`messages.ts`). */

export type ServerMessage = ToChild

export type CallMessage = Extract<ToChild, { readonly type: 'call' }>
export type HookMessage = Extract<ToChild, { readonly type: 'changes' }>
export type AfterMessage = Extract<ToChild, { readonly type: 'after' }>
export type JobMessage = Extract<ToChild, { readonly type: 'job' }>
export type VerifyMessage = Extract<ToChild, { readonly type: 'verify' }>
export type InboundMessage = Extract<ToChild, { readonly type: 'inbound' }>
export type SingleMessage = Extract<ToChild, { readonly type: 'single' }>
export type ReplyMessage = Extract<ToChild, { readonly type: 'reply' | 'rows' | 'addresses' }>

export type ChildMessage =
  | { readonly type: 'loaded'; readonly functions: readonly FunctionDescription[] }
  | { readonly type: 'unloadable'; readonly problems: readonly string[] }
  | ({ readonly type: 'request'; readonly call: string; readonly id: number } & DataRequest)
  | ({ readonly type: 'sql'; readonly call: string; readonly id: number } & Statement)
  | { readonly type: 'target'; readonly call: string; readonly id: number; readonly host: string }
  | ({ readonly type: 'send'; readonly call: string; readonly id: number } & NewMessage)
  | ({ readonly type: 'enqueue'; readonly call: string; readonly id: number } & NewJob)
  | ({ readonly type: 'storage'; readonly call: string; readonly id: number } & StorageAction)
  | {
      readonly type: 'log'
      readonly call?: string
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields?: object
    }
  | ResultMessage
  | { readonly type: 'chunk'; readonly call: string; readonly bytes: string }
  | {
      readonly type: 'end'
      readonly call: string
      readonly failure?: { readonly message: string; readonly stack?: string }
    }
  | { readonly type: 'pong' }

export interface DataRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body?: string | undefined
  readonly ifMatch?: string | undefined
  /** Reason of a request as the administrator. */
  readonly reason?: string
}

export interface NewMessage {
  readonly kind: 'mail' | 'push' | 'broadcast'
  /** JSON of the message. */
  readonly body: string
}

/** Request of `ctx.storage`, as it is sent. */
export type StorageAction = Omit<StorageMessage, 'type' | 'call' | 'id'>

/** Success of a request of `ctx.storage`. */
export type StorageReply = Pick<Extract<ReplyMessage, { type: 'reply' }>, 'body' | 'content'>

export interface NewJob {
  readonly job: string
  /** JSON of the payload. */
  readonly payload: string
  readonly key?: string
  readonly at?: number
}

export interface Statement {
  readonly text: string
  readonly values: readonly (string | null)[]
  /** Reason of a statement as the administrator. */
  readonly reason?: string
}

export type ResultMessage =
  | { readonly type: 'result'; readonly call: string; readonly value?: string }
  | {
      readonly type: 'head'
      readonly call: string
      readonly status: number
      readonly headers: readonly (readonly [name: string, value: string])[]
      readonly hasBody: boolean
    }
  | {
      readonly type: 'failure'
      readonly call: string
      readonly kind: 'refused' | 'input' | 'failed'
      readonly message: string
      readonly status?: number
      readonly error?: string
      readonly data?: object
      readonly stack?: string
    }
