import type { Logger } from 'pino'
import { isObject, parseJson } from '../../../lib/json.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import type { LogLine } from './messages.ts'

/** Maximum number of lines that functions log in a second. */
const linesPerSecond = 200
const windowMs = 1000
/** Maximum length of the fields of a line as JSON. */
const fieldsLimit = 8000
/** Maximum length of the message and of the stack of an error, which as JSON fit into the fields. */
const messageLimit = 1000
const stackLimit = 3000

type Level = LogLine['level']

/** Log of the functions. It drops lines beyond a limit, and logs their number. */
export class FunctionLog {
  readonly #log: Logger
  readonly #secrets: Pick<FunctionSecrets, 'redact'>
  #windowStart = 0
  #count = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger, secrets: Pick<FunctionSecrets, 'redact'>) {
    this.#log = log
    this.#secrets = secrets
  }

  write(level: Level, message: string, fields: object): void {
    const now = performance.now()
    if (now - this.#windowStart >= windowMs) {
      this.flush()
      this.#windowStart = now
      this.#count = 0
    }
    if (this.#count >= linesPerSecond) {
      this.#dropped += 1
      this.#timer ??= setTimeout(() => this.flush(), windowMs).unref()
      return
    }
    this.#count += 1
    this.#log[level](this.#readFields(fields), this.#secrets.redact(message).slice(0, fieldsLimit))
  }

  /** Writes the error of a call, which has no secrets. */
  fail(name: string, requestId: string, message: string, stack?: string): void {
    const failure = {
      message: message.slice(0, messageLimit),
      ...(stack === undefined ? {} : { stack: stack.slice(0, stackLimit) }),
    }
    this.write('error', 'a function failed', { source: 'functions', function: name, requestId, failure })
  }

  /** Writes the number of dropped lines. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#dropped === 0) return
    this.#log.warn({ lines: this.#dropped }, 'functions log too much: lines were dropped')
    this.#dropped = 0
  }

  #readFields(fields: object): object {
    const json = this.#secrets.redact(JSON.stringify(fields))
    const redacted = json.length <= fieldsLimit ? parseJson(json) : undefined
    // A number that is a secret leaves no JSON.
    return isObject(redacted) ? redacted : { fields: 'left out' }
  }
}
