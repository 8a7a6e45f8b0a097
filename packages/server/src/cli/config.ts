import { Command } from 'commander'
import { valueInForce } from '../config/effective.ts'
import { settingOf } from '../config/settings.ts'
import { settings } from '../configuration.ts'
import { loadServerConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'

export function configCommand(terminal: Terminal): Command {
  const command = new Command('config')
    .description('print every configuration value in force and its source, with secrets redacted')
    .option('--json', 'print an object of {value, source} by key')
  return withConfigFlags(command).action((options: { json?: boolean }) => {
    const { config, sources } = loadServerConfig(terminal, command)
    const entries = settings.map(({ key, secret }) => {
      const given = settingOf(config, key)
      const value = valueInForce(config, key)
      const source = sources.get(key) ?? 'default'
      return {
        key,
        value: secret && value !== '' ? '[redacted]' : value,
        source: value === given ? source : `${source} (auto)`,
      }
    })
    if (options.json === true) {
      const byKey = Object.fromEntries(entries.map(({ key, value, source }) => [key, { value, source }]))
      printJson(terminal, byKey)
    } else {
      const rows = entries.map(({ key, value, source }) => [key, JSON.stringify(value), source])
      print(terminal, formatTable(['key', 'value', 'source'], rows))
    }
  })
}
