import { Command } from 'commander'
import { deleteFinishedJobs } from '../features/events/jobs/index.ts'
import { pruneOutbox } from '../features/events/outbox/index.ts'
import { deleteExpiredTables } from '../features/events/realtime/index.ts'
import { pruneWebhooks } from '../features/events/webhooks/index.ts'
import { deleteExpired } from '../features/identity/accounts/index.ts'
import { cleanUp } from '../features/identity/mfa/index.ts'
import { deleteLogs, deleteRequests } from '../features/operations/logs/index.ts'
import { deleteEndedWindows } from '../features/operations/throttle/index.ts'
import { deleteUsage } from '../features/operations/usage/index.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'
import { withDatabase } from './with-database.ts'

export function cleanUpCommand(terminal: Terminal): Command {
  const command = new Command('clean-up').description(
    'remove unlinked anonymous accounts, unconfirmed second factors and expired data',
  )
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, 'basalt clean-up', async ({ system }) => {
      const { anonymousUsers, enrollments } = await cleanUp(system, config.auth.clean_up)
      // These are the jobs of the default schedules, for servers with jobs.enabled = false.
      await deleteExpired(system)
      await deleteEndedWindows(system)
      await deleteExpiredTables(system)
      await deleteLogs(system, config.logging.retention_days)
      await deleteRequests(system, config.logging.retention_days)
      await deleteUsage(system, config.usage.retention_days)
      const jobs = await deleteFinishedJobs(system, config.jobs.retention_days)
      const deliveries = await pruneWebhooks(system, config.webhooks.retention_days * 24)
      const { removed } = await pruneOutbox(system, config.events.retention_hours)
      terminal.stdout.write(
        `removed ${anonymousUsers} anonymous accounts, ${enrollments} unconfirmed factors, ${jobs} finished jobs, ${deliveries} deliveries, ${removed} changes\n`,
      )
    })
  })
}
