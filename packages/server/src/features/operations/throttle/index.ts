export { createSlots, type Slots } from './slots.ts'
export {
  type AttemptLimit,
  createThrottle,
  defineThrottleHousekeeping,
  deleteEndedWindows,
  requireAllowed,
  type Throttle,
} from './throttle.ts'
