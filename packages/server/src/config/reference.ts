import type { Setting } from './settings.ts'

/** Returns the configuration reference as Markdown: every key with its type, default and names. */
export function describeSettings(settings: readonly Setting[]): string {
  const sections = Map.groupBy(settings, ({ section }) => section)
  return `# Configuration

Sources in rising precedence: defaults, file, environment, flags. \`basalt config\` prints every value in force and
its source.

- File: \`basalt.toml\` in the working directory, or \`--config PATH\`. A key \`section.name\` is \`name\` in the table
  \`[section]\`.
- Environment: \`BASALT_SECTION_NAME\`. A list is separated by commas. A secret may also be in a file that
  \`BASALT_SECTION_NAME_FILE\` names.
- Flags: \`--section-name VALUE\`, on every command that reads the configuration.

An unknown key or an invalid value stops the start. The error lists all faults at once.
${[...sections].map(([section, settings]) => describeSection(section, settings)).join('')}`
}

function describeSection(section: string, settings: readonly Setting[]): string {
  return `
## ${section}

| key | environment | default | |
|---|---|---|---|
${settings.map(describeSetting).join('')}`
}

function describeSetting({ key, env, default: fallback, description, expects, secret }: Setting): string {
  const remarks = [`${description} Expects ${expects}.`, ...(secret ? ['Secret.'] : [])]
  const cells = [`\`${key}\``, `\`${env}\``, `\`${JSON.stringify(fallback)}\``, remarks.join(' ')]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}
