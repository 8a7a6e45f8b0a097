/** Number of bytes at the beginning of a native module that determine its platform. */
export const nativeHeaderBytes = 20

/** Machine types of ELF (System V ABI, e_machine), as Node names them. */
const elfMachines = new Map([
  [3, 'ia32'],
  [40, 'arm'],
  [62, 'x64'],
  [183, 'arm64'],
])
/** CPU types of Mach-O. */
const machMachines = new Map([
  [0x01000007, 'x64'],
  [0x0100000c, 'arm64'],
])

/** File of a package that Node loads as machine code. */
export interface NativeModule {
  readonly path: string
  readonly header: Buffer
}

/**
 * Lists packages whose native modules are all for another platform, such as `sharp (darwin-arm64)`. A package may bring
 * modules for several platforms.
 */
export function findForeignPackages(modules: readonly NativeModule[], platform: string): string[] {
  const byPackage = Map.groupBy(modules, ({ path }) => packageOf(path))
  return [...byPackage].flatMap(([name, found]) => {
    const platforms = [...new Set(found.map(({ header }) => platformOf(header)))]
    return platforms.includes(platform) ? [] : [`${name} (${platforms.join(', ')})`]
  })
}

/** Returns the package of a path, the innermost one; the path itself outside of packages. */
function packageOf(path: string): string {
  return /.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? path
}

function platformOf(header: Buffer): string {
  if (header.length < nativeHeaderBytes) return 'unknown'
  if (header.readUInt32BE(0) === 0x7f454c46)
    return `linux-${elfMachines.get(header.readUInt16LE(18)) ?? 'other'}`
  if (header.readUInt32LE(0) === 0xfeedfacf)
    return `darwin-${machMachines.get(header.readUInt32LE(4)) ?? 'other'}`
  if (header.readUInt32BE(0) === 0xcafebabe) return 'darwin-universal'
  return header.toString('latin1', 0, 2) === 'MZ' ? 'win32' : 'unknown'
}
