import { apple } from './apple.ts'
import { bitbucket } from './bitbucket.ts'
import { discord } from './discord.ts'
import { facebook } from './facebook.ts'
import { figma } from './figma.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { google } from './google.ts'
import { linkedin } from './linkedin.ts'
import { microsoft } from './microsoft.ts'
import { notion } from './notion.ts'
import type { Provider } from './provider.ts'
import { slack } from './slack.ts'
import { spotify } from './spotify.ts'
import { twitch } from './twitch.ts'
import { twitter } from './twitter.ts'
import { zoom } from './zoom.ts'

export const builtInProviders = {
  google,
  github,
  microsoft,
  apple,
  discord,
  twitter,
  facebook,
  linkedin,
  spotify,
  twitch,
  gitlab,
  bitbucket,
  slack,
  zoom,
  notion,
  figma,
} as const satisfies Readonly<Record<string, Provider>>

export type BuiltInProvider = keyof typeof builtInProviders
