import { BlockList, isIP } from 'node:net'

/**
 * What kind of place an IP address is.
 * - `public`: somewhere in the internet
 * - `private`: this machine or a network of one's own
 * - `forbidden`: nothing to send to, or what clouds keep credentials at
 */
export type AddressClass = 'public' | 'private' | 'forbidden'

/** IANA special-purpose registries (RFC 6890), and metadata services. Subnets as `address/bits`. */
const forbidden = blockList([
  '0.0.0.0/8',
  '100.100.100.200/32', // metadata, Alibaba Cloud
  '168.63.129.16/32', // WireServer, Azure
  '169.254.0.0/16', // link-local, with most metadata services
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  'fd00:ec2::/32', // metadata, AWS
  'fd20:ce::/32', // metadata, Google Cloud
  '2001::/23', // Teredo and other protocols
  '2001:db8::/32',
  '3fff::/20',
])

const privateNetworks = blockList([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
])

/** Addresses that carry an IPv4 address, and the group it begins at. */
const carriers: readonly { readonly list: BlockList; readonly group: number }[] = [
  { list: blockList(['64:ff9b::/96']), group: 6 }, // NAT64
  { list: blockList(['2002::/16']), group: 1 }, // 6to4
]
const globalUnicast = blockList(['2000::/3'])

/** @param address an IPv4 or IPv6 address as {@link isIP} accepts it; anything else is forbidden */
export function classifyAddress(address: string): AddressClass {
  const [bare = ''] = address.split('%')
  if (isIP(bare) === 4) return classifyIPv4(bare)
  if (isIP(bare) !== 6) return 'forbidden'
  const groups = expandIPv6(bare)
  // ::ffff:0:0/96, IPv4-mapped. Block lists of Node see the IPv4 address in it themselves.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return classifyIPv4(embeddedIPv4(groups, 6))
  }
  const carrier = carriers.find(({ list }) => list.check(bare, 'ipv6'))
  if (carrier !== undefined) return classifyIPv4(embeddedIPv4(groups, carrier.group))
  if (forbidden.check(bare, 'ipv6')) return 'forbidden'
  if (privateNetworks.check(bare, 'ipv6')) return 'private'
  return globalUnicast.check(bare, 'ipv6') ? 'public' : 'forbidden'
}

function classifyIPv4(address: string): AddressClass {
  if (forbidden.check(address, 'ipv4')) return 'forbidden'
  return privateNetworks.check(address, 'ipv4') ? 'private' : 'public'
}

/** The eight groups of an IPv6 address. */
function expandIPv6(address: string): number[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) => {
    const pair = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16)
    return `${pair(a, b)}:${pair(c, d)}`
  })
  const [head = '', tail] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...(tail === undefined ? [] : zeros), ...right].map((group) => Number.parseInt(group, 16))
}

function embeddedIPv4(groups: readonly number[], start: number): string {
  const [high = 0, low = 0] = groups.slice(start, start + 2)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', bits] = subnet.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
