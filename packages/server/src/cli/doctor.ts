import { Command } from 'commander'
import { loadCommandConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { checks } from './doctor/checks.ts'
import { examine } from './doctor/examine.ts'
import { formatReport, summarize } from './doctor/report.ts'

interface DoctorOptions {
  readonly json?: boolean
  readonly strict?: boolean
}

/**
 * Creates `basalt doctor`, which works with or without a running server. It exits with 1 if a check fails, and
 * with `--strict` also after a warning.
 */
export function doctorCommand(terminal: Terminal): Command {
  const command = new Command('doctor')
    .description('check a deployment: database, roles, policies, clock, proxy, TLS, disk and backup')
    .option('--json', 'print {"status", "counts", "findings"}')
    .option('--strict', 'exit with 1 after a warning, too')
  return withConfigFlags(command).action(async ({ json, strict }: DoctorOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const report = summarize(await examine(config, checks))
    if (json === true) printJson(terminal, report)
    else print(terminal, formatReport(report, terminal.stdout.isTTY === true && !terminal.env.NO_COLOR))
    if (report.status === 'failure' || (strict === true && report.status === 'warning')) terminal.exitCode = 1
  })
}
