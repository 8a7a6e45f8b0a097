import { Command } from 'commander'
import { openDatabase } from '../database/open.ts'
import { cleanUp } from '../features/identity/mfa/index.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'

export function cleanUpCommand(terminal: Terminal): Command {
  const command = new Command('clean-up').description(
    'remove anonymous accounts never linked and second factors never confirmed',
  )
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const database = await openDatabase(config, {
      purpose: 'basalt clean-up',
      asServer: false,
      log: () => undefined,
    })
    try {
      const { anonymousUsers, enrollments } = await cleanUp(database.system, config.auth.clean_up)
      terminal.stdout.write(
        `removed ${anonymousUsers} anonymous accounts, ${enrollments} unconfirmed factors\n`,
      )
    } finally {
      await database.close()
    }
  })
}
