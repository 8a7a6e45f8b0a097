import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'

/** Directories of shared libraries on Debian and its derivatives, by `process.arch`. */
const libraryDirectories: Readonly<Record<string, string>> = {
  arm64: '/usr/lib/aarch64-linux-gnu',
  x64: '/usr/lib/x86_64-linux-gnu',
}

/**
 * Returns variables that give the current account a name for a process, until the result is disposed. They are empty if
 * it has one. initdb and the single-user mode of postgres refuse accounts without a name, as in containers with a chosen
 * user id.
 *
 * @param path path of a file to create for it
 */
export function nameAccount(path: string): { readonly env: Readonly<Record<string, string>> } & Disposable {
  // nss_wrapper (cwrap.org) reads accounts from a file.
  const library = `${libraryDirectories[process.arch]}/libnss_wrapper.so`
  if (hasName() || !existsSync(library)) return { env: {}, [Symbol.dispose]() {} }
  writeFileSync(path, `basalt:x:${process.getuid?.()}:${process.getgid?.()}::/:/bin/false\n`, { mode: 0o600 })
  return {
    env: { LD_PRELOAD: library, NSS_WRAPPER_PASSWD: path, NSS_WRAPPER_GROUP: '/etc/group' },
    [Symbol.dispose]: () => rmSync(path, { force: true }),
  }
}

function hasName(): boolean {
  try {
    userInfo()
    return true
  } catch {
    return false
  }
}
