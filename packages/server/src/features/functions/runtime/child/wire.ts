import type { FunctionDescription, ToChild } from '../messages.ts'

/** Messages as the child receives and sends them. The server checks those that it receives (`messages.ts`). */

export type ServerMessage = ToChild

export type CallMessage = Extract<ToChild, { readonly type: 'call' }>
export type ReplyMessage = Extract<ToChild, { readonly type: 'reply' | 'rows' }>

export type ChildMessage =
  | { readonly type: 'loaded'; readonly functions: readonly FunctionDescription[] }
  | { readonly type: 'unloadable'; readonly problems: readonly string[] }
  | ({ readonly type: 'request'; readonly call: string; readonly id: number } & DataRequest)
  | ({ readonly type: 'sql'; readonly call: string; readonly id: number } & Statement)
  | {
      readonly type: 'log'
      readonly call?: string
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields?: object
    }
  | ResultMessage
  | { readonly type: 'pong' }

export interface DataRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body?: string | undefined
  readonly ifMatch?: string | undefined
}

export interface Statement {
  readonly text: string
  readonly values: readonly (string | null)[]
}

export type ResultMessage =
  | { readonly type: 'result'; readonly call: string; readonly value?: string }
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
