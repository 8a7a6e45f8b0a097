import { sql } from '../../../database/sql.ts'
import { type Check, failure, ok, warning } from '../check.ts'

const warningMs = 2000
const failureMs = 30_000
const fix = 'timedatectl set-ntp true   # on this machine and on that of the database'

/** Check of the clock of this machine against that of the database. */
export const clock: Check = {
  id: 'clock',
  async run({ database, outside }) {
    const offsetMs = await database.use(async (connection) => {
      const sentAt = outside.clock.now().getTime()
      const { rows } = await connection.query<{ now: Date }>(sql`select clock_timestamp() as now`)
      const receivedAt = outside.clock.now().getTime()
      const now = rows[0]?.now.getTime() ?? 0
      // The database read its clock at some time between the two.
      if (now < sentAt) return now - sentAt
      return Math.max(0, now - receivedAt)
    })
    const seconds = Math.abs(offsetMs / 1000).toFixed(1)
    const message = `the clock of this machine is ${seconds} s ${offsetMs < 0 ? 'ahead of' : 'behind'} that of the database`
    if (Math.abs(offsetMs) > failureMs)
      return [failure('clock', `${message}: tokens and codes may be rejected`, fix)]
    if (Math.abs(offsetMs) > warningMs) return [warning('clock', message, fix)]
    return [ok('clock', 'this machine and the database have the same time')]
  },
}
