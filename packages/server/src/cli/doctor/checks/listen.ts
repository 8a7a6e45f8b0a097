import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../../database/connection/connection.ts'
import { sql } from '../../../database/sql.ts'
import { type Check, type Finding, ok, warning } from '../check.ts'
import { detectPooling } from './pooler.ts'

const arrivalMs = 3000
const line =
  'listen_url = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"   # in [database]: PostgreSQL itself'
const effect = 'nodes poll for changes every 125 ms'

/** Check that notifications arrive, on the connection that the server listens on. */
export const listen: Check = {
  id: 'listen',
  async run({ config, database, signal }) {
    const { listen_url } = config.database
    const key = listen_url === '' ? 'database.url' : 'database.listen_url'
    const examine = async (connection: Connection): Promise<Finding> => {
      // A pooler would keep a session that listens.
      if ((await detectPooling(connection)) !== 'none') {
        const lack = `${effect}${listen_url === '' ? ', and read-only SQL is refused' : ''}`
        return warning('listen', `${key} leads to a pooler that shares sessions: ${lack}`, line)
      }
      const isArriving = await database.use((sender) => notify(connection, sender, signal))
      if (isArriving) return ok('listen', `notifications arrive on ${key}`)
      return warning(
        'listen',
        `a notification did not arrive on ${key} within ${arrivalMs / 1000} s: ${effect}`,
        line,
      )
    }
    return [await (listen_url === '' ? database.use(examine) : database.useUrl(listen_url, examine))]
  },
}

/** Sends a notification on a channel of its own. @returns true if it arrives */
async function notify(receiver: Connection, sender: Connection, signal: AbortSignal): Promise<boolean> {
  const channel = `basalt_doctor_${randomUUID().replaceAll('-', '')}`
  const arrival = Promise.withResolvers<boolean>()
  receiver.onNotification(() => arrival.resolve(true))
  await receiver.query(sql`listen ${sql.id(channel)}`)
  await sender.query(sql`select pg_notify(${channel}, '')`)
  const late = delay(arrivalMs, false, { signal, ref: false })
  return await Promise.race([arrival.promise, late])
}
