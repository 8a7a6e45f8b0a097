import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Logger } from 'pino'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import type { OpenData } from './calls.ts'
import type { FunctionsConfig } from './config.ts'
import { FunctionHost, type HostDeps } from './host.ts'
import { functionOperations } from './routes.ts'
import { Slots } from './slots.ts'

export type { OpenData, TransactionData } from './calls.ts'
export { runtimeErrorTable } from './errors.ts'
export type { FunctionHost } from './host.ts'

/** Code that is deployed to this server. */
export interface LiveCode {
  /** Returns the folder with the function files; undefined before the first deploy. */
  liveFolder(): { readonly path: string } | undefined
  /** Calls the listener after each change of the folder. */
  onChange(listener: () => void): void
}

export interface RuntimeDeps {
  readonly config: FunctionsConfig
  readonly database: HostDeps['database']
  readonly openData: OpenData
  /** Folder of the live deploy. */
  readonly live: LiveCode
  /** Returns the maximum number of connections of this process. */
  readonly connectionLimit: () => number
  readonly log: Logger
  readonly secrets: FunctionSecrets
}

/** Creates the feature that runs the functions of a folder. */
export function runtime({ config, database, openData, live, connectionLimit, log, secrets }: RuntimeDeps): {
  readonly host: FunctionHost
  readonly feature: Feature
} {
  const { connections, folder } = config
  const slots = new Slots(() =>
    connections === 'auto' ? Math.max(1, Math.floor(connectionLimit() / 4)) : connections,
  )
  const host = new FunctionHost({
    config,
    database,
    slots,
    openData,
    log,
    secrets,
    program: join(import.meta.dirname, `function-process${extname(import.meta.filename)}`),
  })
  let loading = Promise.resolve()
  /** Loads the live deploy, or the folder of this machine before the first one. Loads run one after the other. */
  const load = () => {
    loading = loading.then(async () => {
      const path = live.liveFolder()?.path ?? (existsSync(folder) ? folder : undefined)
      // A fault in the functions must not keep the rest from being served.
      if (path !== undefined)
        await host
          .loadFolder(path)
          .catch((error) =>
            log.error({ folder: path, reason: messageOf(error) }, 'failed to load the functions'),
          )
    })
    return loading
  }
  return {
    host,
    feature: {
      name: 'functions',
      routes: (app) => addOperations(app, host, functionOperations),
      async start() {
        live.onChange(() => void load())
        await load()
      },
      stop: () => host.stop(),
    },
  }
}
