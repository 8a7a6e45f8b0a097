import { HookTable } from './hooks.ts'
import type {
  AfterDescription,
  FunctionDescription,
  InboundDescription,
  JobDescription,
  ScheduleDescription,
  SingleDescription,
} from './messages.ts'
import { RouteTable } from './route-table.ts'
import { jobOf } from './schedules.ts'
import type { SingleKind } from './single-kinds.ts'

/** Functions of one load by their kinds. */
export class LoadedFunctions {
  readonly all: readonly FunctionDescription[]
  readonly routes: RouteTable
  readonly hooks: HookTable
  /** Jobs by the type in the queue. */
  readonly jobs: ReadonlyMap<string, JobDescription>
  readonly schedules: readonly ScheduleDescription[]
  /** Functions for changes by their names. */
  readonly afters: ReadonlyMap<string, AfterDescription>
  /** Receivers of messages by the name in their address. */
  readonly inbound: ReadonlyMap<string, InboundDescription>

  constructor(all: readonly FunctionDescription[]) {
    this.all = all
    this.routes = new RouteTable(all.filter((each) => each.kind === 'route'))
    this.hooks = new HookTable(all)
    this.jobs = new Map(all.flatMap(jobOf).map((each) => [each.job, each]))
    this.schedules = all.filter((each) => each.kind === 'schedule')
    this.afters = new Map(all.flatMap((each) => (each.kind === 'after' ? [[each.name, each]] : [])))
    this.inbound = new Map(all.flatMap((each) => (each.kind === 'inbound' ? [[each.inbound, each]] : [])))
  }

  /** Returns the function of a kind of which there is at most one. */
  single(kind: SingleKind): SingleDescription | undefined {
    return this.all.find((each): each is SingleDescription => each.kind === kind)
  }
}
