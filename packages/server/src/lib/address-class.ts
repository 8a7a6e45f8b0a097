import ipaddr from 'ipaddr.js'
import { parseAddress } from './addresses.ts'

/**
 * Class of an IP address.
 * - `public`: an address in the internet
 * - `private`: this machine or a private network
 * - `forbidden`: an invalid target, or an address where clouds serve credentials
 */
export type AddressClass = 'public' | 'private' | 'forbidden'

/**
 * Networks of the IANA special-purpose registries (RFC 6890), and of metadata services. The first list with the
 * address decides; an address in none of them is forbidden.
 */
const networks = {
  nat64: subnets('64:ff9b::/96'),
  '6to4': subnets('2002::/16'),
  forbidden: subnets(
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
  ),
  private: subnets(
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '::1/128',
    'fc00::/7',
  ),
  public: subnets('0.0.0.0/0', '2000::/3'),
}

/** Byte offsets of embedded IPv4 addresses (RFC 6052, RFC 3056). */
const carriedAt: Readonly<Record<string, number>> = { nat64: 12, '6to4': 2 }

/** Classifies an address. @param text an IPv4 or IPv6 address; anything else is forbidden */
export function classifyAddress(text: string): AddressClass {
  const address = parseAddress(text)
  return address === undefined ? 'forbidden' : classify(address)
}

function classify(address: ipaddr.IPv4 | ipaddr.IPv6): AddressClass {
  const network = ipaddr.subnetMatch(address, networks, 'forbidden')
  const start = carriedAt[network]
  if (start !== undefined) return classify(new ipaddr.IPv4(address.toByteArray().slice(start, start + 4)))
  return network === 'private' || network === 'public' ? network : 'forbidden'
}

function subnets(...ranges: readonly string[]): [ipaddr.IPv4 | ipaddr.IPv6, number][] {
  return ranges.map((range) => ipaddr.parseCIDR(range))
}
