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
                  The embedded database and the generated secrets in one file, while the server runs or
                  without it:
                </p>
                <Code label="Backup command">npx basalt backup basalt.tar.gz</Code>
                <p>
                  A copy of the data directory of a running server is no backup. Files of storage that are
                  kept on disk are not in it: copy their directory afterwards.
                </p>
              </>
            ) : (
              <>
                <p>
                  The database is yours: back it up with its own tools, and keep the configured secrets apart.
                </p>
                <Code label="Backup command">{`pg_dump --format=custom --file=${database.name}.dump "$DATABASE_URL"`}</Code>
              </>
            )
          }
        </Loaded>
        <p>
          <a href="/api/docs/guides/backup">Backup, restore, move</a>
        </p>
      </Section>
      <Section title="For other programs">
        <p>A token of the administrator, which a command of the server's machine prints:</p>
        <Code label="Token command">TOKEN=$(npx basalt admin token)</Code>
        <Notice tone="warning">
          It may do everything. A program gets an API key with the scopes that it needs instead.
        </Notice>
        <p>A new password of the administrator, in place of a lost one; it ends every session:</p>
        <Code label="Password command">npx basalt admin reset-password</Code>
      </Section>
    </>
  )
}
