package experiments

import "github.com/faultline-go/faultline/internal/yamldoc"

func sutOut(s SUT) *yamldoc.Out {
	o := &yamldoc.Out{}
	if s.Reference != nil {
		o.Put("reference", referenceOut(s.Reference))
	}
	if len(s.Replicas) > 0 {
		replicas := &yamldoc.Out{}
		for _, one := range s.Replicas {
			replicas.Put(one.Name, one.BaseURL)
		}
		o.Put("replicas", replicas)
	}
	o.PutIf(s.BaseURL != "", "base_url", s.BaseURL)
	if l := s.Launch; l != nil {
		var launch yamldoc.Out
		launch.Put("command", l.Command)
		launch.PutIf(l.Dir != "", "dir", l.Dir)
		launch.PutIf(len(l.Env) > 0, "env", l.Env)
		launch.Put("stop", l.Stop)
		o.Put("launch", &launch)
	}
	if r := s.Ready; r != nil {
		var ready yamldoc.Out
		ready.Put("get", r.Get)
		ready.Put("expect", r.Expect)
		ready.Put("timeout", r.Timeout)
		o.Put("ready", &ready)
	}
	o.PutIf(s.InstanceHeader != "", "instance_header", s.InstanceHeader)
	return o
}

func referenceOut(r *Reference) *yamldoc.Out {
	o := &yamldoc.Out{}
	putService(o, r)
	o.PutIf(r.Workers > 0, "workers", r.Workers)
	if len(r.Routes) > 0 {
		o.Put("routes", each(r.Routes, func(route Route) *yamldoc.Out {
			one := &yamldoc.Out{}
			one.Put("path", route.Path)
			if route.Respond != nil {
				one.Put("respond", respondOut(*route.Respond))
			} else {
				putService(one, route.Service)
			}
			return one
		}))
	}
	return o
}

// putService writes how the reference service treats one dependency.
func putService(o *yamldoc.Out, r *Reference) {
	breaker := &yamldoc.Out{}
	o.Put("injector", r.Injector)
	putConfig(breaker, r.Breaker)
	if r.Ejection == nil {
		o.Put("breaker", breaker)
	}
	o.Put("failure", r.Failure.Words())
	o.Put("timeout", r.Timeout)
	if r.Fallback != nil {
		o.Put("fallback", respondOut(*r.Fallback))
	}
	o.PutIf(r.Pool > 0, "pool", r.Pool)
	if r.Attempts > 1 {
		retry := &yamldoc.Out{}
		retry.Put("attempts", r.Attempts)
		retry.PutIf(r.RetryWait > 0, "wait", r.RetryWait)
		o.Put("retry", retry)
	}
	o.PutIf(r.Bulkhead > 0, "bulkhead", r.Bulkhead)
	if r.Ejection != nil {
		o.Put("ejection", ejectOut(r.Ejection))
	}
	if r.Paging != nil {
		paging := &yamldoc.Out{}
		paging.Put("items", r.Paging.Items)
		paging.Put("page", r.Paging.Page)
		paging.Put("on_switch", r.Paging.OnSwitch)
		o.Put("paging", paging)
	}
	o.PutIf(r.Defect != "", "defect", r.Defect)
}
