export { findNatsServer, NatsServerMissingError } from './find-nats-server.ts';
export { freePorts } from './free-ports.ts';
export {
  defaultStateDir,
  type FoundHouse,
  findHouse,
  type House,
  type HouseConnection,
  type HouseOptions,
  HouseRunningError,
  type ServiceKind,
  startHouse,
  type UnitLine,
} from './house.ts';
export {
  launchNats,
  launchNatsCluster,
  type NatsServer,
  NatsServerFailedError,
  type NatsServerOptions,
  waitForHealth,
} from './nats-launcher.ts';
