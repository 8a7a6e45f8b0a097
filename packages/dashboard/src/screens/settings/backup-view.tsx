import { useApi } from '../../api/queries.ts'
import { Code } from '../../ui/code.tsx'
import { Notice, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { readServer } from '../home/api.ts'

export function BackupView() {
  const server = useApi(['server'], readServer)
  return (
    <>
      <Section title="Backup">
        <Loaded query={server}>
          {({ database }) =>
            database.isEmbedded ? (
              <>
                <p>
                  This writes the embedded database and the generated secrets to one file, whether the server
                  runs or not:
                </p>
                <Code label="Backup command">npx basalt backup basalt.tar.gz</Code>
                <p>
                  A copy of the data directory of a running server is not a backup. The file does not contain
                  stored objects on disk, so copy their directory afterwards.
                </p>
              </>
            ) : (
              <>
                <p>
                  The database is external. Back it up with its own tools, and keep the configured secrets
                  separately.
                </p>
                <Code label="Backup command">{`pg_dump --format=custom --file=${database.name}.dump "$DATABASE_URL"`}</Code>
              </>
            )
          }
        </Loaded>
        <p>
          <a href="/docs/guides/backup">Backup, restore, move</a>
        </p>
      </Section>
      <Section title="For other programs">
        <p>This command prints an administrator token. Run it on the server host:</p>
        <Code label="Token command">TOKEN=$(npx basalt admin token)</Code>
        <Notice tone="warning">
          The token has full access. For a program, create an API key with the scopes that it needs.
        </Notice>
        <p>This command sets a new administrator password and ends all sessions:</p>
        <Code label="Password command">npx basalt admin reset-password</Code>
      </Section>
    </>
  )
}
